import type { TemplateSummary } from '@agent-service/client';
import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { SearchX } from 'lucide-react';
import { api, bodyOf, type Environment } from '../../api/client.ts';
import { keepSameList } from '../../api/lists.ts';
import { readWhole } from '../../api/pages.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { Badge, Empty, Failure, Skeleton } from '../../ui/feedback.tsx';
import { Segmented, useSearchFilter } from '../../ui/filters.tsx';
import { Page } from '../../ui/page.tsx';
import { FilterSelect, SearchInput } from '../../ui/table.tsx';

export const categories = { finance: 'Finance', sales: 'Sales', inventory: 'Inventory', purchasing: 'Purchasing', hr: 'People' } as const;
type Category = keyof typeof categories;

const choices = [{ id: '', label: 'All' }, ...Object.entries(categories).map(([id, label]) => ({ id, label }))];

interface Filter {
  search?: string;
  status?: 'available' | 'activated';
  category?: Category;
}

async function readTemplates(environment: Environment, filter: Filter, signal: AbortSignal): Promise<TemplateSummary[]> {
  const read = (cursor: string | undefined) =>
    bodyOf(api(environment).GET('/v1/templates', { params: { query: { limit: 100, ...(cursor && { cursor }), ...filter } }, signal }));
  return (await readWhole(read, signal)).data;
}

export function TemplatesPage() {
  const environment = useEnvironment();
  const { search, status, category } = useSearch({ strict: false });
  const [, chooseCategory] = useSearchFilter('category');
  const filter = { ...(search && { search }), ...(status && { status }), ...(category && { category }) } as Filter;
  const { data, error, refetch } = useQuery({
    queryKey: [environment, 'templates', filter],
    queryFn: ({ signal }) => readTemplates(environment, filter, signal),
    placeholderData: keepSameList([environment, 'templates']),
  });
  return (
    <Page title="Templates" description="Agents that are ready to use. Activate one, or duplicate it and make it your own.">
      <div className="filters">
        <SearchInput label="Search templates" />
        <Segmented label="Category" options={choices} value={category ?? ''} onChange={chooseCategory} />
        <FilterSelect
          name="status"
          label="Status"
          all="Every status"
          options={[
            { value: 'available', label: 'Available' },
            { value: 'activated', label: 'Activated' },
          ]}
        />
      </div>
      {error && !data && <Failure cause={error} onRetry={() => void refetch()} />}
      {data?.length === 0 && (
        <div className="table-frame">
          <Empty icon={SearchX} title="No template matches">
            Search for another word, or choose another category.
          </Empty>
        </div>
      )}
      {!error && !data && (
        <div className="cards">
          {[1, 2, 3, 4, 5, 6].map((index) => (
            <SkeletonCard key={index} />
          ))}
        </div>
      )}
      {data && data.length > 0 && <Gallery templates={data} />}
    </Page>
  );
}

function Gallery({ templates }: { templates: TemplateSummary[] }) {
  const groups = Map.groupBy(templates, ({ category }) => category);
  return [...groups].map(([category, members]) => (
    <section key={category} className="section" aria-label={categories[category]}>
      <div className="section-head">
        <h2>{categories[category]}</h2>
      </div>
      <ul className="cards">
        {members.map((template) => (
          <TemplateCard key={template.id} template={template} />
        ))}
      </ul>
    </section>
  ));
}

function TemplateCard({ template }: { template: TemplateSummary }) {
  const environment = useEnvironment();
  const { id, name, description, status, model, credit_cost_estimate: cost } = template;
  return (
    <li className="card linked-card">
      <div className="row spread">
        <Link
          to="/$environment/templates/$templateId"
          params={{ environment, templateId: id }}
          className="row-link cell-title truncate"
          preload={false}
        >
          {name}
        </Link>
        {status === 'activated' && <Badge tone="success">Activated</Badge>}
      </div>
      <p className="muted small card-text">{description}</p>
      <p className="muted small card-foot">
        {model} · {cost}
      </p>
    </li>
  );
}

function SkeletonCard() {
  return (
    <div className="card" aria-hidden="true">
      <Skeleton width="50%" />
      <p className="card-text">
        <Skeleton width="100%" />
        <Skeleton width="80%" />
      </p>
      <Skeleton width="40%" />
    </div>
  );
}
