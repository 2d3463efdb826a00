//! `/reservations/{reservation_id}`: what can be done with a reservation once it is made.

use super::ledger::with_ledger;
use super::rooms::{small, write_reservation};
use super::{caller, day};
use crate::handler::{Context, EndpointError, Reply};

/// `LOOKUP /reservations/{reservation_id}`.
pub fn look_up(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
    let agent = caller(ctx)?;
    let id = ctx.input().str("reservation_id")?;
    // The text is written while the ledger is held: copying it out first would take longer than writing it.
    with_ledger(|ledger| {
        let (reservation, guest_name, notes) = ledger.look_up(&agent, id)?;
        reply.object(|o| {
            write_reservation(o, &reservation);
            o.str("guest_name", guest_name)
                .u64("guests", reservation.stay.guests.into())
                .bool("breakfast", reservation.stay.breakfast);
            if !notes.is_empty() {
                o.str("notes", notes);
            }
        });
        Ok(())
    })
}

/// `CANCEL /reservations/{reservation_id}`.
pub fn cancel(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
    let agent = caller(ctx)?;
    let id = ctx.input().str("reservation_id")?;
    let reservation = with_ledger(|ledger| ledger.cancel(&agent, id))?;
    reply.object(|o| write_reservation(o, &reservation));
    Ok(())
}

/// `RESCHEDULE /reservations/{reservation_id}`.
pub fn reschedule(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
    let agent = caller(ctx)?;
    let input = ctx.input();
    let id = input.str("reservation_id")?;
    let check_in = day(input.str("check_in")?)?;
    let nights = input.opt_u64("nights").map(small).transpose()?;
    let reservation = with_ledger(|ledger| ledger.reschedule(&agent, id, check_in, nights))?;
    reply.object(|o| write_reservation(o, &reservation));
    Ok(())
}
