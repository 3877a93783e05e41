/** Where changes are delivered by themselves: the setting `webhooks`. Plain values, which workers are sent as JSON. */

export interface WebhookSettings {
  /** Names that URLs may have: `hooks.example.com`, or `*.example.com` for all below; in lower case. */
  readonly allowedHosts: readonly string[]
  /** Whether names may lead to this machine, and to networks that are nobody's. */
  readonly allowPrivateAddresses: boolean
  readonly hooks: readonly WebhookConfig[]
}

export interface WebhookConfig {
  /** The name, under which its state is stored in the federated database. */
  readonly name: string
  readonly fd: string
  readonly url: string
  /** `whsec_` and base64. Never to be printed. */
  readonly secret: string
  readonly className?: string | undefined
  readonly where?: string | undefined
  readonly include: 'values' | 'keys'
  /** Where a new webhook starts: at the oldest change kept, or at future changes. */
  readonly since: 'first' | 'now'
  /** Changes of one delivery at most. */
  readonly changesMax: number
  /** How long a delivery is retried before it becomes a dead letter. */
  readonly retryForMs: number
}
