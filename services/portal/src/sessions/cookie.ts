import type { IncomingMessage } from 'node:http';

const sessionName = 'agent_service_portal';
const signInName = 'agent_service_portal_sign_in';
/** How long a sign-in with a provider may take. */
const signInSeconds = 600;

/** The cookie that holds the token of a session. Browsers accept a `__Host-` cookie from this very host over an encrypted connection only. */
export interface SessionCookie {
  /** The token in a request; empty without one. */
  read(request: IncomingMessage): string;
  /** The header that gives a browser a token. */
  set(token: string): string;
  /** The header that makes a browser forget its token. */
  readonly clear: string;
}

const tokenForm = /^[0-9A-Za-z]{20,100}$/;
const signInForm = /^[0-9A-Za-z_-]{20,3000}$/;

export const createSessionCookie = (isSecure: boolean): SessionCookie => createCookie(sessionName, tokenForm, isSecure);

/** The cookie that holds what a sign-in with a provider began with, for some minutes. */
export const createSignInCookie = (isSecure: boolean): SessionCookie => createCookie(signInName, signInForm, isSecure, signInSeconds);

function createCookie(plainName: string, form: RegExp, isSecure: boolean, maxSeconds?: number): SessionCookie {
  const name = isSecure ? `__Host-${plainName}` : plainName;
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  return {
    read({ headers: { cookie = '' } }) {
      for (const pair of cookie.split(';')) {
        const [key = '', value = ''] = pair.trim().split('=', 2);
        if (key === name) return form.test(value) ? value : '';
      }
      return '';
    },
    set: (token) => `${name}=${token}; ${attributes}${maxSeconds === undefined ? '' : `; Max-Age=${maxSeconds}`}`,
    clear: `${name}=; ${attributes}; Max-Age=0`,
  };
}
