//! The sample deployment's functions: a small hotel whose rooms can really be booked.
//!
//! ```text
//! rooms, reservations, stays   the handler functions, one module per path root
//!            |
//!          ledger              who sleeps where and when; the only state, per process
//!            |
//!     house, dates             what the rooms are; day arithmetic
//! ```
//!
//! Nothing here allocates once the ledger exists, so the hotel can stand in benchmarks for "a handler that does
//! something". Endpoint declarations bind these functions by the names in [`functions`].

mod dates;
mod house;
mod ledger;
pub mod reservations;
pub mod rooms;
pub mod stays;

use self::dates::Day;
use self::ledger::Refusal;
use crate::engine::Function;
use crate::handler::{Context, EndpointError};
use crate::identity::AgentId;

/// Every function of the hotel, and `echo`, under the name that endpoint declarations use.
pub fn functions() -> Vec<Function> {
    crate::functions! {
        "echo" => crate::handler::echo,
        "reservations::cancel" => reservations::cancel,
        "reservations::look_up" => reservations::look_up,
        "reservations::reschedule" => reservations::reschedule,
        "rooms::book_room" => rooms::book_room,
        "rooms::check_availability" => rooms::check_availability,
        "rooms::find_rooms" => rooms::find_rooms,
        "stays::quote_stay" => stays::quote_stay,
    }
}

impl From<Refusal> for EndpointError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::RoomUnavailable => EndpointError::named("room_unavailable")
                .message("The room is taken for at least one of these nights."),
            Refusal::InvalidDates => invalid_dates(),
            Refusal::HotelFull => EndpointError::named("hotel_full")
                .message("The ledger is full; a reservation has to be cancelled first."),
            Refusal::UnknownReservation => EndpointError::named("unknown_reservation")
                .message("The caller has no reservation with this reservation_id."),
            Refusal::ReservationCancelled => EndpointError::named("reservation_cancelled")
                .message("The reservation was cancelled; book the room again."),
        }
    }
}

fn invalid_dates() -> EndpointError {
    EndpointError::named("invalid_dates").message("The stay has to lie between 2000-01-01 and 2099-12-31.")
}

fn unknown_room() -> EndpointError {
    EndpointError::named("unknown_room").message("There is no such room; FIND /rooms lists them.")
}

fn unsuitable() -> EndpointError {
    EndpointError::named("room_unsuitable").message("The room is of another type, or sleeps fewer guests.")
}

fn day(text: &str) -> Result<Day, EndpointError> {
    Day::parse(text).ok_or_else(invalid_dates)
}

/// The agent whose reservations these are. The engine lets no anonymous request this far (D24).
fn caller(ctx: &Context<'_>) -> Result<AgentId, EndpointError> {
    ctx.agent_key()
        .copied()
        .ok_or_else(|| EndpointError::internal("a reservation was asked for without an Agent-ID"))
}
