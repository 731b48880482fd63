import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { ChevronRight } from 'lucide-react';
import { portal } from '../../api/client.ts';
import { messageOf } from '../../api/errors.ts';
import { openSession, type Session } from '../../api/session.ts';
import { Loading, Notice } from '../../ui/feedback.tsx';
import { Entrance, safePath } from './entrance.tsx';

interface Choice {
  organizations: { id: string; name: string; is_linked: boolean }[];
  return_to: string;
}

/** After a sign-in with an identity provider, for a person who belongs to several organizations. */
export function ChooseOrganizationPage() {
  const client = useQueryClient();
  const router = useRouter();
  const choice = useQuery({
    queryKey: ['organization-choice'],
    queryFn: async () => (await portal<{ data: Choice }>('GET', '/openid-connect/choice')).data,
    retry: false,
  });
  const choose = useMutation({
    mutationFn: async (organizationId: string) =>
      (await portal<{ data: Session }>('POST', '/openid-connect/choice', { organization_id: organizationId })).data,
    onSuccess: (session) => {
      openSession(client, session);
      router.history.replace(safePath(choice.data?.return_to));
    },
  });
  if (choice.isPending) return <Loading />;
  const failure = choice.error ?? choose.error;
  const isChosen = choose.isPending || choose.isSuccess;
  return (
    <Entrance
      title="Choose an organization"
      description={choice.data && 'Your account belongs to more than one. To work in another organization later, sign in again.'}
    >
      {failure && <Notice tone="danger">{messageOf(failure)}</Notice>}
      {choice.data && (
        <ul className="choices">
          {choice.data.organizations.map(({ id, name, is_linked: isLinked }) => (
            <li key={id}>
              <button type="button" className="choice" onClick={() => !isChosen && choose.mutate(id)} aria-disabled={isChosen}>
                <span>
                  <bdi className="wrap">{name}</bdi>
                  <span className="hint">{isLinked ? 'You have signed in here before.' : 'You have not signed in here yet.'}</span>
                </span>
                {choose.variables === id && choose.isPending ? (
                  <span className="spinner" aria-hidden="true" />
                ) : (
                  <ChevronRight size={16} aria-hidden="true" />
                )}
              </button>
            </li>
          ))}
        </ul>
      )}
      <a className="button ghost wide" href="/sign-in">
        Back to the sign-in
      </a>
    </Entrance>
  );
}
