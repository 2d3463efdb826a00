//! `/rooms`: finding, checking and booking rooms.

use super::house::{CURRENCY, RoomNumber, RoomType};
use super::ledger::{Booking, Nights, Reservation, Stay, with_ledger};
use super::{caller, day, unknown_room, unsuitable};
use crate::handler::{Context, EndpointError, Input, Reply};
use crate::json::ObjectWriter;

/// `BOOK /rooms/{room_id}`.
pub fn book_room(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
    let input = ctx.input();
    let stay = wanted_stay(&input)?;
    refuse_unsuitable(&input, &stay)?;
    let booking = Booking {
        agent: caller(ctx)?,
        stay,
        guest_name: input.str("guest_name")?,
        notes: input.opt_str("notes").unwrap_or_default(),
    };
    let reservation = with_ledger(|ledger| ledger.book(&booking))?;
    reply.object(|o| write_reservation(o, &reservation));
    Ok(())
}

/// `CHECK /rooms/{room_id}/availability`.
pub fn check_availability(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
    let stay = wanted_stay(&ctx.input())?;
    let available = with_ledger(|ledger| ledger.is_free(&stay))?;
    reply.object(|o| {
        o.str("room_id", stay.room.id().as_str()).bool("available", available);
        write_nights_and_price(o, &stay);
    });
    Ok(())
}

/// `FIND /rooms`.
pub fn find_rooms(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
    let input = ctx.input();
    reply.object(|o| {
        o.array("rooms", |rooms| {
            for room in RoomNumber::all().filter(|room| meets(room.kind(), &input)) {
                rooms.object(|o| write_room(o, room));
            }
        });
        o.str("currency", CURRENCY);
    });
    Ok(())
}

/// Writes what every answer about a reservation begins with.
pub(super) fn write_reservation(o: &mut ObjectWriter<'_>, reservation: &Reservation) {
    let stay = &reservation.stay;
    o.str("reservation_id", reservation.number.id().as_str())
        .str("room_id", stay.room.id().as_str())
        .str("status", if reservation.cancelled { "cancelled" } else { "confirmed" });
    write_nights_and_price(o, stay);
}

fn write_nights_and_price(o: &mut ObjectWriter<'_>, stay: &Stay) {
    let Nights { check_in, count } = stay.nights;
    o.str("check_in", check_in.text().as_str());
    if let Some(check_out) = check_in.plus(count) {
        o.str("check_out", check_out.text().as_str());
    }
    let total = stay.room.kind().total(count.into(), stay.guests.into(), stay.breakfast);
    o.u64("total_price", total.into()).str("currency", CURRENCY);
}

fn write_room(o: &mut ObjectWriter<'_>, room: RoomNumber) {
    let kind = room.kind();
    o.str("room_id", room.id().as_str())
        .str("room_type", kind.as_str())
        .u64("sleeps", kind.sleeps().into())
        .u64("price_per_night", kind.price().into())
        .bool("breakfast", kind.includes_breakfast());
}

fn wanted_stay(input: &Input<'_>) -> Result<Stay, EndpointError> {
    let room = RoomNumber::parse(input.str("room_id")?).ok_or_else(unknown_room)?;
    let check_in = day(input.str("check_in")?)?;
    let nights = Nights { check_in, count: small(input.u64("nights")?)? };
    let guests = small(input.opt_u64("guests").unwrap_or(1))?;
    Ok(Stay { room, nights, guests, breakfast: input.opt_bool("breakfast").unwrap_or(false) })
}

fn refuse_unsuitable(input: &Input<'_>, stay: &Stay) -> Result<(), EndpointError> {
    let kind = stay.room.kind();
    let expected = input.opt_str("room_type").is_none_or(|name| name == kind.as_str());
    if expected && u32::from(stay.guests) <= kind.sleeps() { Ok(()) } else { Err(unsuitable()) }
}

fn meets(kind: RoomType, input: &Input<'_>) -> bool {
    input.opt_u64("guests").is_none_or(|guests| guests <= kind.sleeps().into())
        && input.opt_f64("max_price").is_none_or(|price| f64::from(kind.price()) <= price)
        && input.opt_bool("breakfast").is_none_or(|wanted| wanted == kind.includes_breakfast())
        && input.opt_str("room_type").is_none_or(|name| name == kind.as_str())
}

/// A count that the schema keeps small.
pub(super) fn small<T: TryFrom<u64>>(count: u64) -> Result<T, EndpointError> {
    T::try_from(count)
        .map_err(|_| EndpointError::internal("a count exceeds what the endpoint's schema admits"))
}
