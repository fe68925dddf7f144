-- Run once by the image of PostgreSQL, for a new database: the role that migrates. It owns the database,
-- and makes the role of the services; it is not a superuser. The superuser is left for the socket inside
-- of the container: without a password it cannot sign in over the network.
\getenv password POSTGRES_PASSWORD
CREATE ROLE ledger LOGIN CREATEROLE PASSWORD :'password';
ALTER DATABASE gpu_ledger OWNER TO ledger;
ALTER ROLE postgres PASSWORD NULL;
