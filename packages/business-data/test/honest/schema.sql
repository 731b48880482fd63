create type order_status as enum ('draft', 'placed', 'shipped', 'delivered', 'returned');
create domain email_address as text check (value like '%@%');
create schema "Sales Ops";

create table customers (
  id integer primary key, name text not null, email email_address, region text, segment text,
  vip boolean not null default false, credit_limit numeric(12, 2), signed_up date, profile jsonb, address json
);
create table suppliers (id integer primary key, name text not null, country char(2), rating smallint, lead_time interval);
create table products (
  id integer primary key, sku varchar(20) unique, name text not null, category text, price numeric(10, 2), cost numeric(10, 2),
  tags text[], attributes jsonb, supplier_id integer references suppliers, discontinued boolean default false, weight_kg double precision
);
create table orders (
  id bigint primary key, customer_id integer references customers, status order_status not null, placed_at timestamptz,
  shipped_at timestamptz, channel text, total numeric(12, 2), notes text, metadata jsonb
);
create table order_items (
  order_id bigint references orders, line integer, product_id integer references products, quantity integer, unit_price numeric(10, 2),
  discount numeric(4, 3) default 0, line_total numeric(14, 2) generated always as (round(quantity * unit_price * (1 - discount), 2)) stored,
  primary key (order_id, line)
);
create table invoices (
  id integer primary key, order_id bigint references orders, issued_on date, due_on date, amount numeric(12, 2), paid boolean, number text
);
create table payments (
  id integer, invoice_id integer, paid_on date not null, amount numeric(12, 2), method text, primary key (id, paid_on)
) partition by range (paid_on);
create table payments_2024 partition of payments for values from ('2024-01-01') to ('2025-01-01');
create table payments_2025 partition of payments for values from ('2025-01-01') to ('2026-01-01');
create table inventory (
  product_id integer references products, warehouse text, on_hand integer, reserved integer, counted_at timestamp, valid daterange,
  primary key (product_id, warehouse)
);
create table purchase_orders (
  id integer primary key, supplier_id integer references suppliers, ordered_on date, expected_on date, received_on date,
  amount numeric(12, 2), lines jsonb
);
create table employees (
  id integer primary key, manager_id integer references employees, name text, title text, department text, salary numeric(10, 2),
  hired_on date, skills text[], shift time
);
create table leave_requests (
  id integer primary key, employee_id integer references employees, kind text, starts_on date, ends_on date, approved boolean, reason text
);
create table "Sales Ops"."Quarterly Targets" (
  "Region" text, "Quarter" date, "Target Amount" numeric(12, 2), primary key ("Region", "Quarter")
);
create view active_customers as select id, name, region from customers where segment <> 'churned';
create materialized view monthly_sales as
  select date_trunc('month', placed_at) as month, sum(total) as total from orders group by 1 with no data;
