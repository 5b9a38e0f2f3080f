//! The smallest program that loads a compiled agent and lets it handle one
//! message: what the start of `host run` is measured against.

fn main() -> anyhow::Result<()> {
    let path = std::env::args_os()
        .nth(1)
        .ok_or_else(|| anyhow::anyhow!("name the file of the compiled agent"))?;
    let agent = keepsake_bench::Bare::load(path.as_ref())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    println!("{}", runtime.block_on(agent.handle("nothing"))?);
    Ok(())
}
