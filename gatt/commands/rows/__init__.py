"""`gatt rows`: the targets of samples as rows that other trainers train on."""
