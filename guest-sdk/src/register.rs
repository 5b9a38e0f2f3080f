//! The macros that make a component of a type.

/// Makes the crate an agent: `register_agent!(MyAgent);`, where `MyAgent`
/// implements [`Agent`](crate::Agent). The crate must be a `cdylib`. On the
/// build machine the macro does nothing, so that tests run there.
#[macro_export]
macro_rules! register_agent {
    ($agent:ty) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            use $crate::__private::agent_plugin::exports::keepsake::host::agent as exported;
            struct Plugin;
            impl exported::Guest for Plugin {
                fn describe() -> exported::Description {
                    $crate::__private::describe::<$agent>()
                }
                fn handle(
                    turn: exported::Turn,
                ) -> ::core::result::Result<exported::Reply, $crate::__private::types::Error>
                {
                    $crate::__private::handle::<$agent>(turn)
                }
            }
            $crate::__private::agent_plugin::export_agent!(
                Plugin with_types_in $crate::__private::agent_plugin
            );
            $crate::__built_for!();
        };
    };
}

/// Lets an agent summarise facts that are let go: `register_summarizer!(MyAgent);`
/// besides [`register_agent!`], where `MyAgent` implements
/// [`Summarizer`](crate::Summarizer).
#[macro_export]
macro_rules! register_summarizer {
    ($summarizer:ty) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            use $crate::__private::summarizing::exports::keepsake::host::summarizer as exported;
            struct Plugin;
            impl exported::Guest for Plugin {
                fn summarize(
                    facts: ::std::vec::Vec<exported::Fact>,
                    most: u32,
                ) -> ::core::result::Result<
                    ::std::vec::Vec<exported::Summary>,
                    $crate::__private::types::Error,
                > {
                    $crate::__private::summarize::<$summarizer>(&facts, most)
                }
            }
            $crate::__private::summarizing::export_summarizer!(
                Plugin with_types_in $crate::__private::summarizing
            );
        };
    };
}

/// Makes the crate an embedding provider, as [`register_agent!`] does an agent.
#[macro_export]
macro_rules! register_embedding_provider {
    ($provider:ty) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            use $crate::__private::embedding_provider::exports::keepsake::host::embeddings as exported;
            use $crate::__private::types::Error;
            struct Plugin;
            impl exported::Guest for Plugin {
                fn info() -> ::core::result::Result<exported::EmbeddingInfo, Error> {
                    $crate::__private::embedding_info::<$provider>()
                }
                fn embed(
                    texts: ::std::vec::Vec<::std::string::String>,
                    kind: exported::Kind,
                ) -> ::core::result::Result<::std::vec::Vec<exported::Vector>, Error> {
                    $crate::__private::embed::<$provider>(texts, kind)
                }
            }
            $crate::__private::embedding_provider::export_embedding_provider!(
                Plugin with_types_in $crate::__private::embedding_provider
            );
            $crate::__built_for!();
        };
    };
}

/// Makes the crate a model provider, as [`register_agent!`] does an agent.
#[macro_export]
macro_rules! register_model_provider {
    ($provider:ty) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            use $crate::__private::model_provider::exports::keepsake::host::model as exported;
            use $crate::__private::types::Error;
            struct Plugin;
            impl exported::Guest for Plugin {
                type Completion = $crate::__private::Running;
                fn info() -> ::core::result::Result<exported::ModelInfo, Error> {
                    $crate::__private::model_info::<$provider>()
                }
                fn chat(
                    request: exported::Request,
                ) -> ::core::result::Result<exported::Completion, Error> {
                    $crate::__private::chat::<$provider>(request)
                }
            }
            $crate::__private::model_provider::export_model_provider!(
                Plugin with_types_in $crate::__private::model_provider
            );
            $crate::__built_for!();
        };
    };
}

/// The version of the WIT package, where a host can read it without running
/// the component.
#[doc(hidden)]
#[macro_export]
macro_rules! __built_for {
    () => {
        #[used]
        #[unsafe(link_section = "keepsake:host")]
        static BUILT_FOR: [u8; $crate::__private::WIT_VERSION.len()] =
            *$crate::__private::WIT_VERSION;
    };
}
