"""All answers of the product over one database, to compare two versions of it."""
