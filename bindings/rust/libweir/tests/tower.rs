// SPDX-License-Identifier: MIT
//! The layer, around a service and in a server.
#![cfg(feature = "tower")]
#![allow(clippy::unwrap_used)]
use http::{Request, Response, StatusCode};
use libweir::tower::{too_many_requests, LimitLayer};
use libweir::{Limiter, Plan, Table, TableOptions};
use std::convert::Infallible;
use tower::{Layer, Service, ServiceExt};

async fn hello(_: Request<String>) -> Result<Response<String>, Infallible> {
    Ok(Response::new("hello".to_owned()))
}

#[tokio::test]
async fn answers_what_exceeds_the_limit() {
    let limiter = Limiter::new("1/min burst=2").unwrap();
    let layer = LimitLayer::new(move |_: &Request<String>| limiter.take(1), too_many_requests::<String>);
    let mut service = layer.layer(tower::service_fn(hello));
    for _ in 0..2 {
        let answer = service.ready().await.unwrap().call(Request::new(String::new())).await.unwrap();
        assert_eq!((answer.status(), answer.body().as_str()), (StatusCode::OK, "hello"));
    }
    let answer = service.ready().await.unwrap().call(Request::new(String::new())).await.unwrap();
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    let retry: u64 = answer.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&retry));
}

#[tokio::test]
async fn what_can_never_pass_has_no_retry_after() {
    let limiter = Limiter::new("1/min burst=2").unwrap();
    let layer = LimitLayer::new(move |_: &Request<String>| limiter.take(3), too_many_requests::<String>);
    let answer = layer.layer(tower::service_fn(hello)).oneshot(Request::new(String::new())).await.unwrap();
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(answer.headers().get("retry-after").is_none());
}

#[tokio::test]
async fn clones_share_the_limit() {
    let table = Table::private(100).unwrap();
    let plan = "1/h burst=50".parse().unwrap();
    let layer = LimitLayer::new(
        move |request: &Request<String>| table.take(&plan, request.body(), 1),
        too_many_requests::<String>,
    );
    let service = layer.layer(tower::service_fn(hello));
    let tasks = (0..100).map(|_| tokio::spawn(service.clone().oneshot(Request::new("alice".to_owned()))));
    let mut passed = 0;
    for task in tasks.collect::<Vec<_>>() {
        passed += u32::from(task.await.unwrap().unwrap().status() == StatusCode::OK);
    }
    assert_eq!(passed, 50);
}

#[tokio::test]
async fn a_request_holds_a_slot_until_its_answer() {
    let plan: Plan = "1 concurrent lease=1h".parse().unwrap();
    let options =
        TableOptions { keys: 10, sharing: libweir::Sharing::Private, plan: Some(plan.clone()), ..Default::default() };
    let table = Table::open(options).unwrap();
    let (holder, of_holder, inside) = (table.clone(), plan.clone(), table.clone());
    let of_inside = plan.clone();
    let layer =
        LimitLayer::new(move |_: &Request<String>| holder.try_hold(&of_holder, "a", 1), too_many_requests::<String>);
    let mut service = layer.layer(tower::service_fn(move |_: Request<String>| {
        let free = inside.peek(&of_inside, "a", 1).allowed();
        async move { Ok::<_, Infallible>(Response::new(free.to_string())) }
    }));
    for _ in 0..3 {
        let answer = service.ready().await.unwrap().call(Request::new(String::new())).await.unwrap();
        assert_eq!((answer.status(), answer.body().as_str()), (StatusCode::OK, "false"));
    }
    drop(service.ready().await.unwrap().call(Request::new(String::new()))); // a client that has gone
    let _held = table.try_hold(&plan, "a", 1).unwrap();
    let answer = service.ready().await.unwrap().call(Request::new(String::new())).await.unwrap();
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(answer.headers()["retry-after"], "3600");
}
