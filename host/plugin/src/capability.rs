pub(crate) mod memory { pub struct Scope; pub struct Branch; }
pub(crate) mod sandbox { pub struct SandboxHandle; pub struct ExecutionHandle; }
pub(crate) mod model { pub struct Completion; }
pub(crate) mod agents { pub struct Child; }
