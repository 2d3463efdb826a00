#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agtp::engine::fuzz::answers(agtp_fuzz::engine(), data));
