//! Generated from the WIT package; private. The wrappers decide what of it an
//! author sees.
#![allow(missing_docs, clippy::all)]

pub(crate) mod agent_plugin {
    wit_bindgen::generate!({
        world: "agent-plugin",
        path: "../wit",
        pub_export_macro: true,
        additional_derives: [PartialEq, serde::Serialize, serde::Deserialize],
        export_macro_name: "export_agent",
    });
}

pub(crate) mod embedding_provider {
    wit_bindgen::generate!({
        world: "embedding-provider",
        path: "../wit",
        pub_export_macro: true,
        export_macro_name: "export_embedding_provider",
        with: {
            "keepsake:host/types@0.1.0": crate::bindings::agent_plugin::keepsake::host::types,
            "keepsake:host/settings@0.1.0": crate::bindings::agent_plugin::keepsake::host::settings,
            "keepsake:host/log@0.1.0": crate::bindings::agent_plugin::keepsake::host::log,
            "keepsake:host/embeddings@0.1.0/embedding-info": crate::bindings::agent_plugin::keepsake::host::embeddings::EmbeddingInfo,
            "keepsake:host/embeddings@0.1.0/kind": crate::bindings::agent_plugin::keepsake::host::embeddings::Kind,
        },
    });
}

pub(crate) mod model_provider {
    wit_bindgen::generate!({
        world: "model-provider",
        path: "../wit",
        pub_export_macro: true,
        export_macro_name: "export_model_provider",
        with: {
            "keepsake:host/types@0.1.0": crate::bindings::agent_plugin::keepsake::host::types,
            "keepsake:host/settings@0.1.0": crate::bindings::agent_plugin::keepsake::host::settings,
            "keepsake:host/log@0.1.0": crate::bindings::agent_plugin::keepsake::host::log,
            "keepsake:host/model@0.1.0/message": crate::bindings::agent_plugin::keepsake::host::model::Message,
        },
    });
}
