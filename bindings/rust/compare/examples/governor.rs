// SPDX-License-Identifier: MIT
//! The server of ../../libweir/examples with tower_governor, as its documentation shows it: 100 calls a day from each
//! address. ../../passes counts how many pass.
use axum::{routing::get, Router};
use std::net::SocketAddr;
use std::time::Duration;
use tower_governor::governor::GovernorConfigBuilder;
use tower_governor::GovernorLayer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let period = Duration::from_secs(86_400 / 100);
    let config = GovernorConfigBuilder::default().period(period).burst_size(100).finish().ok_or("no such limit")?;
    let app = Router::new().route("/", get(|| async { "hello\n" })).layer(GovernorLayer::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on {}", listener.local_addr()?);
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}
