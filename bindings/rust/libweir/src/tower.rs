// SPDX-License-Identifier: MIT
//! A layer that answers requests itself when they exceed a limit.
use crate::{Decision, Hold};
use http::{header::RETRY_AFTER, HeaderValue, Response, StatusCode};
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use tower_layer::Layer;
use tower_service::Service;

/// A layer of two functions: what a request takes, and what it is answered if that is refused.
///
/// The first may wait for nothing: take, do not wait. A request that is refused never reaches the service. Where the
/// first returns a [`Hold`] (`table.try_hold`), a request holds its slots until the service has answered, or is dropped.
///
/// ```
/// use libweir::{tower::{too_many_requests, LimitLayer}, Table};
/// let table = Table::private(100_000)?;
/// let plan = "10/s burst=20".parse()?;
/// let layer = LimitLayer::new(
///     move |request: &http::Request<String>| match request.headers().get("x-api-key") {
///         Some(key) => table.take(&plan, key, 1),
///         None => table.take(&plan, "", 1), // all who have none share one limit
///     },
///     too_many_requests::<String>,
/// );
/// # let _ = layer;
/// # Ok::<(), libweir::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LimitLayer<T, D> {
    take: T,
    deny: D,
}

impl<T, D> LimitLayer<T, D> {
    /// A layer that asks `take` for each request, and answers refused ones by `deny`.
    pub fn new<Request, Answer, P: Pass>(take: T, deny: D) -> Self
    where
        T: Fn(&Request) -> P,
        D: Fn(&Decision) -> Answer,
    {
        LimitLayer { take, deny }
    }
}

/// What a request takes: a [`Decision`], or a [`Hold`] if it gets one.
pub trait Pass {
    /// What is kept until the service has answered.
    type Kept;

    /// The kept, or the refusal.
    fn pass(self) -> Result<Self::Kept, Decision>;
}

impl Pass for Decision {
    type Kept = ();

    fn pass(self) -> Result<(), Decision> {
        if self.allowed() {
            Ok(())
        } else {
            Err(self)
        }
    }
}

impl Pass for Result<Hold, Decision> {
    type Kept = Hold;

    fn pass(self) -> Result<Hold, Decision> {
        self
    }
}

/// 429 with Retry-After; without that where the same request can never pass.
pub fn too_many_requests<Body: Default>(decision: &Decision) -> Response<Body> {
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    if let Some(seconds) = decision.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

impl<S, T: Clone, D: Clone> Layer<S> for LimitLayer<T, D> {
    type Service = Limit<S, T, D>;

    fn layer(&self, inner: S) -> Self::Service {
        Limit { inner, layer: self.clone() }
    }
}

/// The service that [`LimitLayer`] makes of another.
#[derive(Clone, Debug)]
pub struct Limit<S, T, D> {
    inner: S,
    layer: LimitLayer<T, D>,
}

impl<S, T, D, P, Request> Service<Request> for Limit<S, T, D>
where
    S: Service<Request>,
    T: Fn(&Request) -> P,
    P: Pass,
    D: Fn(&Decision) -> S::Response,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Answer<S::Future, S::Response, P::Kept>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match (self.layer.take)(&request).pass() {
            Ok(kept) => Answer::Passed { future: self.inner.call(request), kept: Some(kept) },
            Err(decision) => Answer::Denied { response: Some((self.layer.deny)(&decision)) },
        }
    }
}

pin_project! {
    /// The answer of the service, or of the layer.
    #[project = AnswerProjection]
    #[allow(missing_docs)]
    pub enum Answer<F, R, K> {
        Passed { #[pin] future: F, kept: Option<K> },
        Denied { response: Option<R> },
    }
}

impl<F: Future<Output = Result<R, E>>, R, E, K> Future for Answer<F, R, K> {
    type Output = Result<R, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            AnswerProjection::Passed { future, kept } => {
                let answer = ready!(future.poll(context));
                *kept = None;
                Poll::Ready(answer)
            }
            // Polled again after its end, which futures may answer as they like: it stays pending.
            AnswerProjection::Denied { response } => response.take().map_or(Poll::Pending, |it| Poll::Ready(Ok(it))),
        }
    }
}
