// SPDX-License-Identifier: MIT
//! A web server of as many processes as you start: each client may make 5 calls at once and then 5 a minute, all
//! processes together.
//!
//!     cargo run --example server -- 127.0.0.1:8080 /dev/shm/example.weir &
//!     cargo run --example server -- 127.0.0.1:8081 /dev/shm/example.weir &
//!     for i in 1 2 3 4; do curl -si localhost:8080 | head -3; curl -si localhost:8081 | head -3; done
use axum::extract::{connect_info::ConnectInfo, Request};
use axum::{body::Body, routing::get, Router};
use libweir::tower::{too_many_requests, LimitLayer};
use libweir::{Decision, Plan, Table};
use std::net::SocketAddr;

fn by_address(table: &Table, plan: &Plan, request: &Request) -> Decision {
    match request.extensions().get::<ConnectInfo<SocketAddr>>() {
        Some(ConnectInfo(address)) => table.take(plan, address.ip().to_string(), 1),
        None => table.take(plan, "", 1), // all share one limit: see into_make_service_with_connect_info below
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let file = arguments.next().unwrap_or_else(|| "/dev/shm/example.weir".to_owned());
    let limit = arguments.next().unwrap_or_else(|| "5/min burst=5".to_owned());

    let table = Table::shared(file, 100_000)?;
    let plan: Plan = limit.parse()?;
    table.fits(&plan)?; // a table refuses what it cannot enforce
    let limit = LimitLayer::new(move |request: &Request| by_address(&table, &plan, request), too_many_requests::<Body>);

    let app = Router::new().route("/", get(|| async { "hello\n" })).layer(limit);
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}
