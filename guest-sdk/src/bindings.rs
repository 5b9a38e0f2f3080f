//! Generated from the WIT package. Authors see its records through the crate's
//! own modules; the rest is for the register macros.
#![allow(missing_docs, unreachable_pub, clippy::all)]

pub mod agent_plugin {
    wit_bindgen::generate!({
        world: "agent-plugin",
        path: "../wit",
        pub_export_macro: true,
        additional_derives: [PartialEq],
        export_macro_name: "export_agent",
    });
}

pub mod summarizing {
    wit_bindgen::generate!({
        world: "summarizing",
        path: "../wit",
        pub_export_macro: true,
        export_macro_name: "export_summarizer",
        with: {
            "keepsake:host/types@0.1.0": crate::bindings::agent_plugin::keepsake::host::types,
            "keepsake:host/memory@0.1.0": crate::bindings::agent_plugin::keepsake::host::memory,
        },
    });
}

pub mod embedding_provider {
    wit_bindgen::generate!({
        world: "embedding-provider",
        path: "../wit",
        pub_export_macro: true,
        export_macro_name: "export_embedding_provider",
        with: {
            "keepsake:host/types@0.1.0": crate::bindings::agent_plugin::keepsake::host::types,
            "keepsake:host/settings@0.1.0": crate::bindings::agent_plugin::keepsake::host::settings,
            "keepsake:host/log@0.1.0": crate::bindings::agent_plugin::keepsake::host::log,
        },
    });
}

pub mod model_provider {
    wit_bindgen::generate!({
        world: "model-provider",
        path: "../wit",
        pub_export_macro: true,
        export_macro_name: "export_model_provider",
        with: {
            "keepsake:host/types@0.1.0": crate::bindings::agent_plugin::keepsake::host::types,
            "keepsake:host/settings@0.1.0": crate::bindings::agent_plugin::keepsake::host::settings,
            "keepsake:host/log@0.1.0": crate::bindings::agent_plugin::keepsake::host::log,
        },
    });
}
