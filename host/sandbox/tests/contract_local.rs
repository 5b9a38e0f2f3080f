//! The local backend keeps the contract, with isolation and without.

mod common;

mod isolated {
    keepsake_sandbox::contract_tests!(super::common::isolated().1);
}

mod unisolated {
    keepsake_sandbox::contract_tests!(super::common::unisolated().1);
}
