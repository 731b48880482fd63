import * as names from './names.ts';
import { cyclic, type Day, daysBetween, emailName, euros, plusDays, type Random, type Row, weekday } from './values.ts';

export function makeCustomers(random: Random, today: Day): Row[] {
  return names.companyEndings.flatMap((ending, endingIndex) =>
    names.companyBeginnings.map((beginning, index) => {
      const [country, city] = random.pick(names.cities);
      const segment = random.pick(['small business', 'mid-market', 'enterprise'], [5, 3, 2]);
      return {
        id: endingIndex * names.companyBeginnings.length + index + 1,
        name: `${beginning} ${ending}`,
        segment,
        country,
        city,
        email: `office@${emailName(`${beginning} ${ending}`)}.example`,
        status: random.chance(8) ? 'inactive' : 'active',
        credit_limit: euros({ 'small business': 500_000, 'mid-market': 2_500_000, enterprise: 10_000_000 }[segment] as number),
        created_on: plusDays(today, -random.between(20, 1_500)),
      };
    }),
  );
}

export function makeEmployees(random: Random, today: Day): Row[] {
  const employees: Row[] = [];
  for (const department of names.departments) {
    const leader = employees.length + 1;
    for (let index = 0; index < department[1]; index += 1)
      employees.push({
        ...makeEmployee(random, today, employees.length + 1, department[2], index),
        department: department[0],
        manager_id: managerOf(employees.length + 1, leader),
      });
  }
  return employees;
}

/** Heads of departments report to the first employee, who reports to no one. */
function managerOf(id: number, leader: number): number | null {
  if (id === 1) return null;
  return id === leader ? 1 : leader;
}

function makeEmployee(random: Random, today: Day, id: number, titles: readonly string[], index: number): Row {
  const leads = index === 0;
  const name = `${cyclic(names.firstNames, id * 7)} ${cyclic(names.lastNames, id * 3 + Math.floor(id / 20))}`;
  const hired = plusDays(today, -random.between(40, 3_600));
  const left = !leads && random.chance(10) ? plusDays(hired, Math.floor(daysBetween(hired, today) * 0.8)) : null;
  return {
    id,
    name,
    job_title: leads ? (titles[0] as string) : random.pick(titles.slice(1)),
    email: `${emailName(name)}.${id}@company.example`,
    hired_on: hired,
    left_on: left,
    status: left === null ? 'active' : 'left',
    salary: euros((leads ? random.between(72, 118) : random.between(34, 66)) * 100_000),
  };
}

export function makeLeaveRequests(random: Random, today: Day, employees: readonly Row[]): Row[] {
  return Array.from({ length: 240 }, (_, index) => {
    const start = plusDays(today, random.between(-420, 75));
    const end = plusDays(start, random.pick([0, 1, 4, 6, 11, 13], [4, 3, 5, 2, 2, 1]));
    const requested = plusDays(start < today ? start : today, -random.between(1, 40));
    return {
      id: index + 1,
      employee_id: cyclic(employees, random.below(employees.length))['id'] as number,
      kind: random.pick(['vacation', 'sick', 'parental', 'unpaid'], [12, 5, 1, 1]),
      start_date: start,
      end_date: end,
      days: workingDays(start, end),
      status: start > today ? random.pick(['pending', 'approved', 'rejected'], [5, 4, 1]) : random.pick(['approved', 'rejected'], [9, 1]),
      requested_on: requested,
    };
  });
}

function workingDays(from: Day, to: Day): number {
  let count = 0;
  for (let day = from; day <= to; day = plusDays(day, 1)) count += weekday(day) <= 5 ? 1 : 0;
  return Math.max(1, count);
}
