//! Where the components lie that tests run.

include!(concat!(env!("OUT_DIR"), "/components.rs"));
