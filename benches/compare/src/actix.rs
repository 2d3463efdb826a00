//! The contract on actix-web, on one worker.

use crate::contract::{Answer, Contract, HEADERS};
use crate::{Failure, announce};
use actix_web::http::StatusCode;
use actix_web::web::{Bytes, Data, Path};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};

pub fn serve() -> Result<(), Failure> {
    let contract = Data::new(Contract::new()?);
    actix_web::rt::System::new().block_on(async move {
        let server = HttpServer::new(move || {
            App::new().app_data(contract.clone()).route("/rooms/{room_id}", web::post().to(book))
        });
        let server = server.workers(1).disable_signals().bind("127.0.0.1:0")?;
        server.addrs().into_iter().for_each(announce);
        server.run().await?;
        Ok(())
    })
}

async fn book(
    request: HttpRequest,
    room: Path<String>,
    body: Bytes,
    contract: Data<Contract>,
) -> HttpResponse {
    let text = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let Answer { status, body, response_id } =
        contract.answer(text("agent-id"), text("authority-scope"), &room, &body);
    let mut response = HttpResponse::build(StatusCode::from_u16(status).unwrap_or_default());
    for header in HEADERS {
        response.insert_header(header);
    }
    response.insert_header(("response-id", response_id));
    response.content_type("application/json").body(body)
}
