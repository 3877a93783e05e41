/** What a caller has shown: the kind and the id of it, never a secret (contract 9.1). */

/** `password`, `jwt`, `certificate`: the id is the name of the user, the subject of the token, that of the certificate. */
export type Credential =
  | { readonly kind: 'none' }
  | { readonly kind: 'token' | 'session' | 'password' | 'jwt' | 'certificate'; readonly id: string }

export const noCredential: Credential = { kind: 'none' }

/** For logs. */
export function credentialText(credential: Credential): string {
  return credential.kind === 'none' ? credential.kind : `${credential.kind}:${credential.id}`
}
