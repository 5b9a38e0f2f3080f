//! A stand-in for execd, the daemon that OpenSandbox puts into each sandbox.
//!
//! It answers as the real daemon was recorded to answer (`../captures`), so that
//! a real lifecycle server can be tested against without the real daemon.

mod answer;
mod command;
mod files;
mod metrics;
mod names;
mod query;
mod routes;

use anyhow::Context;
use clap::Parser;
use std::io::Write;
use tokio::net::TcpListener;

/// Serves the execd routes inside a sandbox.
#[derive(Parser)]
#[command(name = "execd")]
struct Arguments {
    /// The address to listen on. Port 0 takes a free one.
    #[arg(long, default_value = "0.0.0.0:44772")]
    listen: String,

    /// What the header X-EXECD-ACCESS-TOKEN must hold. Without it, all may call.
    #[arg(long, env = "EXECD_ACCESS_TOKEN", hide_env_values = true)]
    access_token: Option<String>,
}

// One thread does: a sandbox has one caller, and files are read on the
// blocking pool.
#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let listener = TcpListener::bind(&arguments.listen)
        .await
        .with_context(|| {
            format!(
                "cannot listen on {}: choose another with --listen",
                arguments.listen
            )
        })?;
    // A test that asked for port 0 reads the port from here.
    println!("listening on {}", listener.local_addr()?);
    std::io::stdout().flush()?;
    let token = arguments.access_token.filter(|token| !token.is_empty());
    axum::serve(listener, routes::router(token)).await?;
    Ok(())
}
