/** The setting `webhooks`: receivers of changes. Plain values, since workers receive them as JSON. */

export interface WebhookSettings {
  /** Host names of URLs, in lower case: `hooks.example.com`, or `*.example.com` for all subdomains. */
  readonly allowedHosts: readonly string[]
  /** Whether names may resolve to addresses of this machine and of private networks. */
  readonly allowPrivateAddresses: boolean
  readonly hooks: readonly WebhookConfig[]
}

export interface WebhookConfig {
  /** The name, under which its state is stored in the federated database. */
  readonly name: string
  readonly fd: string
  readonly url: string
  /** `whsec_` and base64. Must not be printed. */
  readonly secret: string
  readonly className?: string | undefined
  readonly where?: string | undefined
  readonly include: 'values' | 'keys'
  /** Where a new webhook starts: at the oldest change in the log, or at future changes. */
  readonly since: 'first' | 'now'
  readonly changesMax: number
  /** How long a delivery is retried before it becomes a dead letter. */
  readonly retryForMs: number
}
