"""What tests share: benches, servers, machines, synthetic cases, captures. Nothing here is a test."""
