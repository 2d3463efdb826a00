#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agtp_fuzz::endpoint_toml(data));
