import { makeInventory, makeProducts, makePurchaseOrders, makeSuppliers } from './goods.ts';
import { makeCustomers, makeEmployees, makeLeaveRequests } from './people.ts';
import { makeSales } from './sales.ts';
import type { TableName } from './schema.ts';
import { type Day, type Row, randomFrom } from './values.ts';

type Company = Readonly<Record<TableName, readonly Row[]>>;

const seed = 20_260_101;

/** A small trader in office furniture: the same company every time, with its last two years ending today. */
export function companyOn(today: Day): Company {
  const random = randomFrom(seed);
  const suppliers = makeSuppliers(random);
  const products = makeProducts(random, suppliers.length);
  const customers = makeCustomers(random, today);
  const employees = makeEmployees(random, today);
  const sales = makeSales(random, today, { products, customers, employees });
  return {
    suppliers,
    products,
    customers,
    employees,
    leave_requests: makeLeaveRequests(random, today, employees),
    ...sales,
    inventory: makeInventory(random, today, products),
    purchase_orders: makePurchaseOrders(random, today, products, suppliers),
  };
}
