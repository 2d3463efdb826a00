use super::*;

const ADA: AgentId = [1; 32];
const BOB: AgentId = [2; 32];

fn stay(room: &str, check_in: &str, count: u16) -> Stay {
    let room = RoomNumber::parse(room).unwrap();
    let nights = Nights { check_in: Day::parse(check_in).unwrap(), count };
    Stay { room, nights, guests: 1, breakfast: false }
}

fn by(agent: AgentId, stay: Stay) -> Booking<'static> {
    Booking { agent, stay, guest_name: "Ada Lovelace", notes: "" }
}

fn id(reservation: Reservation) -> String {
    reservation.number.id().as_str().to_owned()
}

#[test]
fn a_repeat_is_the_same_reservation_and_an_overlap_is_refused() {
    let mut ledger = Ledger::new(8);
    let first = ledger.book(&by(ADA, stay("12", "2026-07-01", 3))).unwrap();
    let again = ledger.book(&by(ADA, stay("12", "2026-07-01", 3))).unwrap();
    assert_eq!(first.number, again.number);
    for (agent, check_in, count) in [
        (BOB, "2026-07-01", 3),
        (BOB, "2026-07-03", 1),
        (BOB, "2026-06-30", 2),
        (BOB, "2026-06-20", 30),
        (ADA, "2026-07-01", 2),
        (ADA, "2026-07-02", 1),
    ] {
        let refusal = ledger.book(&by(agent, stay("12", check_in, count))).unwrap_err();
        assert_eq!(refusal, Refusal::RoomUnavailable, "{check_in} {count}");
    }
    let other_guest = Booking { guest_name: "Grace Hopper", ..by(ADA, stay("12", "2026-07-01", 3)) };
    assert_eq!(ledger.book(&other_guest).unwrap_err(), Refusal::RoomUnavailable);
}

#[test]
fn guests_leave_before_others_arrive_and_rooms_do_not_share_nights() {
    let mut ledger = Ledger::new(8);
    for (room, check_in) in
        [("12", "2026-07-01"), ("12", "2026-07-04"), ("12", "2026-06-28"), ("13", "2026-07-01")]
    {
        ledger.book(&by(ADA, stay(room, check_in, 3))).unwrap();
    }
}

#[test]
fn a_stay_must_end_within_the_century() {
    let mut ledger = Ledger::new(8);
    assert_eq!(ledger.book(&by(ADA, stay("1", "2099-12-30", 2))).unwrap_err(), Refusal::InvalidDates);
    assert_eq!(ledger.is_free(&stay("24", "2099-12-31", 30)), Err(Refusal::InvalidDates));
    assert!(ledger.book(&by(ADA, stay("24", "2099-12-30", 1))).is_ok());
    assert_eq!(ledger.is_free(&stay("2", "2000-01-01", 30)), Ok(true));
}

#[test]
fn cancelling_frees_the_room_once() {
    let mut ledger = Ledger::new(8);
    let wanted = stay("12", "2026-07-01", 3);
    let first = id(ledger.book(&by(ADA, wanted)).unwrap());
    assert_eq!(ledger.is_free(&wanted), Ok(false));
    assert!(ledger.cancel(&ADA, &first).unwrap().cancelled);
    assert_eq!(ledger.is_free(&wanted), Ok(true));
    let second = ledger.book(&by(BOB, wanted)).unwrap();
    assert!(ledger.cancel(&ADA, &first).unwrap().cancelled, "a repeat changes nothing");
    assert_eq!(ledger.is_free(&wanted), Ok(false));
    assert_ne!(id(second), first);
    let (shown, guest_name, notes) = ledger.look_up(&ADA, &first).unwrap();
    assert_eq!((shown.cancelled, guest_name, notes), (true, "Ada Lovelace", ""));
}

#[test]
fn reservations_are_shown_to_the_agent_that_made_them() {
    let mut ledger = Ledger::new(8);
    let made = id(ledger.book(&by(ADA, stay("12", "2026-07-01", 3))).unwrap());
    assert_eq!(made, "rsv-000001");
    assert!(ledger.look_up(&ADA, &made).is_ok());
    assert_eq!(ledger.look_up(&BOB, &made).unwrap_err(), Refusal::UnknownReservation);
    assert_eq!(ledger.cancel(&BOB, &made).unwrap_err(), Refusal::UnknownReservation);
    for bad in [
        "",
        "rsv-",
        "rsv-1",
        "rsv-0000001",
        "rsv-000000",
        "rsv-000002",
        "rsv-+00001",
        "RSV-000001",
        "rsv-99999999999",
    ] {
        assert_eq!(ledger.look_up(&ADA, bad).unwrap_err(), Refusal::UnknownReservation, "{bad}");
    }
}

#[test]
fn rescheduling_may_overlap_its_own_nights_only() {
    let mut ledger = Ledger::new(8);
    let day = |text| Day::parse(text).unwrap();
    let mine = id(ledger.book(&by(ADA, stay("12", "2026-07-01", 3))).unwrap());
    let theirs = stay("12", "2026-07-10", 3);
    ledger.book(&by(BOB, theirs)).unwrap();
    let moved = ledger.reschedule(&ADA, &mine, day("2026-07-02"), None).unwrap();
    assert_eq!(moved.stay.nights, Nights { check_in: day("2026-07-02"), count: 3 });
    assert_eq!(ledger.is_free(&stay("12", "2026-07-01", 1)), Ok(true));
    assert_eq!(ledger.is_free(&stay("12", "2026-07-04", 1)), Ok(false));
    let blocked = ledger.reschedule(&ADA, &mine, day("2026-07-08"), None).unwrap_err();
    assert_eq!(blocked, Refusal::RoomUnavailable);
    assert_eq!(ledger.is_free(&stay("12", "2026-07-02", 1)), Ok(false), "a refused move changes nothing");
    ledger.reschedule(&ADA, &mine, day("2026-07-08"), Some(2)).unwrap();
    ledger.cancel(&ADA, &mine).unwrap();
    let late = ledger.reschedule(&ADA, &mine, day("2026-08-01"), None).unwrap_err();
    assert_eq!(late, Refusal::ReservationCancelled);
    assert_eq!(ledger.is_free(&theirs), Ok(false));
}

#[test]
fn a_full_ledger_forgets_cancelled_reservations_and_no_others() {
    let mut ledger = Ledger::new(2);
    let first = id(ledger.book(&by(ADA, stay("1", "2026-07-01", 1))).unwrap());
    ledger.book(&by(ADA, stay("2", "2026-07-01", 1))).unwrap();
    assert_eq!(ledger.book(&by(ADA, stay("3", "2026-07-01", 1))).unwrap_err(), Refusal::HotelFull);
    ledger.cancel(&ADA, &first).unwrap();
    let third = id(ledger.book(&by(ADA, stay("3", "2026-07-01", 1))).unwrap());
    assert_eq!(third, "rsv-000003");
    assert!(ledger.look_up(&ADA, &third).is_ok());
    assert_eq!(ledger.look_up(&ADA, &first).unwrap_err(), Refusal::UnknownReservation);
}

#[test]
fn ids_keep_every_digit() {
    for (number, text) in
        [(1, "rsv-000001"), (999_999, "rsv-999999"), (1_000_000, "rsv-1000000"), (u32::MAX, "rsv-4294967295")]
    {
        let number = Number(NonZeroU32::new(number).unwrap());
        assert_eq!(number.id().as_str(), text);
        assert_eq!(Number::parse(text), Some(number));
    }
}

#[test]
fn text_longer_than_its_field_is_cut_between_characters() {
    let text = InlineText::<5>::new("aaaa€");
    assert_eq!(text.as_str(), "aaaa");
    assert_eq!(InlineText::<7>::new("aaaa€").as_str(), "aaaa€");
}

#[test]
fn nothing_moves_once_the_ledger_exists() {
    let mut ledger = Ledger::new(64);
    let before = (ledger.records.as_ptr(), ledger.cancelled.as_ptr());
    for round in 0..200u16 {
        let check_in = Day::parse("2026-01-01").unwrap().plus(round).unwrap();
        let wanted = Stay { nights: Nights { check_in, count: 1 }, ..stay("5", "2026-01-01", 1) };
        let made = id(ledger.book(&by(ADA, wanted)).unwrap());
        ledger.cancel(&ADA, &made).unwrap();
    }
    assert_eq!((ledger.records.as_ptr(), ledger.cancelled.as_ptr()), before);
    assert!(ledger.cancelled.len() <= ledger.capacity);
}
