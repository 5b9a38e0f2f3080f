//! The generated glue between WIT and Rust, and nothing else.
//!
//! One module a world. The types that several worlds share are generated once,
//! with the agent's world, and reused by the others.
#![allow(
    missing_docs,
    reason = "generated; the WIT files hold the documentation"
)]

/// What an agent imports and exports.
pub(crate) mod agent {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "agent-plugin",
        imports: { default: async | trappable },
        exports: { default: async },
        with: {
            "keepsake:host/memory.scope": crate::capability::memory::Scope,
            "keepsake:host/memory.branch": crate::capability::memory::Branch,
            "keepsake:host/sandbox.sandbox": crate::capability::sandbox::SandboxHandle,
            "keepsake:host/sandbox.execution": crate::capability::sandbox::ExecutionHandle,
            "keepsake:host/model.completion": crate::capability::model::Completion,
            "keepsake:host/agents.child": crate::capability::agents::Child,
        },
        additional_derives: [PartialEq],
    });
}
pub(crate) mod summarizing {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "summarizing",
        imports: { default: async | trappable },
        exports: { default: async },
        with: {
            "keepsake:host/types": super::agent::keepsake::host::types,
            "keepsake:host/memory": super::agent::keepsake::host::memory,
        },
    });
}
pub(crate) mod embedding_provider {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "embedding-provider",
        imports: { default: async | trappable },
        exports: { default: async },
        with: {
            "keepsake:host/types": super::agent::keepsake::host::types,
            "keepsake:host/settings": super::agent::keepsake::host::settings,
            "keepsake:host/log": super::agent::keepsake::host::log,
        },
    });
}
pub(crate) mod model_provider {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "model-provider",
        imports: { default: async | trappable },
        exports: { default: async },
        with: {
            "keepsake:host/types": super::agent::keepsake::host::types,
            "keepsake:host/settings": super::agent::keepsake::host::settings,
            "keepsake:host/log": super::agent::keepsake::host::log,
        },
    });
}
