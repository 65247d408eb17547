CREATE SCHEMA market;

CREATE TYPE color AS ENUM ('red', 'green');

CREATE SEQUENCE ticket_number;

CREATE TABLE item (
    item_id INT PRIMARY KEY,
    title TEXT NOT NULL
);

CREATE TABLE market.visitor (
    visitor_id INT,
    arrival DATE
);

CREATE INDEX item_by_title ON item (title);

CREATE VIEW cheap_item AS
SELECT item_id
FROM item;

CREATE MATERIALIZED VIEW daily_total AS
SELECT 1;

CREATE FUNCTION ring_bell(times INT) RETURNS INT AS $$
    SELECT 1
$$ LANGUAGE sql;

WITH recent AS (
    SELECT title FROM item
)
SELECT title FROM recent;
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
--
-- Nothing is named here.
