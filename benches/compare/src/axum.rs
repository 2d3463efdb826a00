//! The contract on axum over hyper, whose answers to a pipeline are flushed together.

use crate::contract::{Answer, Contract, HEADERS};
use crate::{Failure, announce};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response};
use axum::routing::post;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use tokio::net::TcpListener;

pub fn serve() -> Result<(), Failure> {
    let contract = Arc::new(Contract::new()?);
    let router = Router::new().route("/rooms/{room_id}", post(book)).with_state(contract);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        announce(listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let service = TowerToHyperService::new(router.clone());
            tokio::spawn(async move {
                // How a connection ends is its client's business.
                let mut builder = http1::Builder::new();
                let _ = builder.pipeline_flush(true).serve_connection(TokioIo::new(stream), service).await;
            });
        }
    })
}

async fn book(
    State(contract): State<Arc<Contract>>,
    Path(room): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let Answer { status, body, response_id } =
        contract.answer(text("agent-id"), text("authority-scope"), &room, &body);
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status.try_into().unwrap_or_default();
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    if let Ok(id) = HeaderValue::from_str(&response_id) {
        headers.insert("response-id", id);
    }
    response
}
