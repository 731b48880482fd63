import type { IncomingMessage } from 'node:http';

const sessionName = 'agent_service_portal';
const signInName = 'agent_service_portal_sign_in';
/** How long a sign-in with a provider may take. */
const signInSeconds = 600;

/** A cookie of this portal. Browsers accept a `__Host-` cookie from this very host over an encrypted connection only. */
export interface PortalCookie {
  /** Its value in a request; empty without one, or where it has another form. */
  read(request: IncomingMessage): string;
  /** The header that gives a browser a value. */
  set(value: string): string;
  /** The header that makes a browser forget it. */
  readonly clear: string;
}

const tokenForm = /^[0-9A-Za-z]{20,100}$/;
const signInForm = /^[0-9A-Za-z_-]{20,3000}$/;

/** The cookie that holds the token of a session. */
export const createSessionCookie = (isSecure: boolean): PortalCookie => createCookie(sessionName, tokenForm, isSecure);

/** The cookie that holds what a sign-in with a provider began with, for some minutes. */
export const createSignInCookie = (isSecure: boolean): PortalCookie => createCookie(signInName, signInForm, isSecure, signInSeconds);

function createCookie(plainName: string, form: RegExp, isSecure: boolean, maxSeconds?: number): PortalCookie {
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
    set: (value) => `${name}=${value}; ${attributes}${maxSeconds === undefined ? '' : `; Max-Age=${maxSeconds}`}`,
    clear: `${name}=; ${attributes}; Max-Age=0`,
  };
}
