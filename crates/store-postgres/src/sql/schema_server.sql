-- What the schema needs of the server.
SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding')
