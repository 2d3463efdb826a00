//! `/stays`: prices without a booking.

use super::house::{CURRENCY, RoomNumber, RoomType};
use super::rooms::small;
use super::{unknown_room, unsuitable};
use crate::handler::{Context, EndpointError, Input, Reply};

/// `QUOTE /stays`.
pub fn quote_stay(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
    let input = ctx.input();
    let kind = wanted_type(&input)?;
    let nights: u16 = small(input.u64("nights")?)?;
    let guests: u8 = small(input.opt_u64("guests").unwrap_or(1))?;
    let breakfast = input.opt_bool("breakfast").unwrap_or(false);
    if u32::from(guests) > kind.sleeps() {
        return Err(unsuitable());
    }
    reply.object(|o| {
        o.str("room_type", kind.as_str())
            .u64("nights", nights.into())
            .u64("price_per_night", kind.price().into())
            .u64("breakfast_per_night", kind.breakfast_per_night(guests.into(), breakfast).into())
            .u64("total_price", kind.total(nights.into(), guests.into(), breakfast).into())
            .str("currency", CURRENCY);
    });
    Ok(())
}

/// The type asked for, or that of the room asked for; the schema admits exactly one of the two.
fn wanted_type(input: &Input<'_>) -> Result<RoomType, EndpointError> {
    match input.opt_str("room_id") {
        Some(id) => RoomNumber::parse(id).map(RoomNumber::kind).ok_or_else(unknown_room),
        None => RoomType::named(input.str("room_type")?).ok_or_else(|| {
            EndpointError::internal("the endpoint's schema admits a room_type the house lacks")
        }),
    }
}
