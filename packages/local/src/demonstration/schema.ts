/** The tables of the demonstration company, in an order in which their rows can be inserted. */
export const tables = {
  suppliers: `
    id integer primary key, name text not null, country text not null, lead_time_days integer not null,
    rating numeric(2,1) not null, contact_email text not null`,
  products: `
    id integer primary key, sku text not null unique, name text not null, category text not null,
    supplier_id integer not null references suppliers (id), unit_price numeric(10,2) not null, unit_cost numeric(10,2) not null,
    discontinued boolean not null`,
  customers: `
    id integer primary key, name text not null, segment text not null, country text not null, city text not null, email text not null,
    status text not null, credit_limit numeric(12,2) not null, created_on date not null`,
  employees: `
    id integer primary key, name text not null, department text not null, job_title text not null,
    manager_id integer references employees (id), email text not null, hired_on date not null, left_on date, status text not null,
    salary numeric(10,2) not null`,
  leave_requests: `
    id integer primary key, employee_id integer not null references employees (id), kind text not null, start_date date not null,
    end_date date not null, days integer not null, status text not null, requested_on date not null`,
  orders: `
    id integer primary key, customer_id integer not null references customers (id),
    employee_id integer not null references employees (id), order_date date not null, status text not null, channel text not null,
    shipped_on date, total numeric(12,2) not null`,
  order_items: `
    id integer primary key, order_id integer not null references orders (id), product_id integer not null references products (id),
    quantity integer not null, unit_price numeric(10,2) not null, discount_percent integer not null, line_total numeric(12,2) not null`,
  invoices: `
    id integer primary key, invoice_number text not null unique, order_id integer not null references orders (id),
    customer_id integer not null references customers (id), issued_on date not null, due_on date not null,
    amount numeric(12,2) not null, amount_paid numeric(12,2) not null, status text not null`,
  payments: `
    id integer primary key, invoice_id integer not null references invoices (id), paid_on date not null, amount numeric(12,2) not null,
    method text not null`,
  inventory: `
    id integer primary key, product_id integer not null references products (id), warehouse text not null,
    quantity_on_hand integer not null, reorder_level integer not null, last_counted_on date not null, unique (product_id, warehouse)`,
  purchase_orders: `
    id integer primary key, supplier_id integer not null references suppliers (id),
    product_id integer not null references products (id), ordered_on date not null, expected_on date not null, received_on date,
    quantity integer not null, unit_cost numeric(10,2) not null, total numeric(12,2) not null, status text not null`,
} as const;

export type TableName = keyof typeof tables;

/** The comments of the tables, for people and models that read the schema. */
export const comments: Readonly<Record<TableName, string>> = {
  suppliers: 'Companies that goods are bought from',
  products: 'Goods that the company sells; unit_price is the list price and unit_cost what it pays',
  customers: 'Companies that buy; segment is enterprise, mid-market or small business',
  employees: 'Present and former employees; salary is per year',
  leave_requests: 'Requests for time off; days are working days, both ends included',
  orders: 'Sales orders; status is pending, shipped, delivered or cancelled',
  order_items: 'The lines of sales orders',
  invoices: 'Invoices to customers; status is paid, open, overdue or void',
  payments: 'Money received for invoices',
  inventory: 'Stock by product and warehouse; at or below reorder_level it should be bought again',
  purchase_orders: 'Orders to suppliers, one product each; status is open, late, received or cancelled',
};
