/** Signatures according to Standard Webhooks (https://www.standardwebhooks.com), which receivers can check with its libraries. */
import { createHmac } from 'node:crypto'

const prefix = 'whsec_'
const [keyBytesMin, keyBytesMax] = [24, 64]

/** Decodes `whsec_` and base64; returns undefined for any other text. */
export function readSecret(text: string): Buffer | undefined {
  const encoded = text.trim()
  if (!encoded.startsWith(prefix)) return undefined
  const key = Buffer.from(encoded.slice(prefix.length), 'base64')
  const isBase64 = key.toString('base64').replace(/=+$/, '') === encoded.slice(prefix.length).replace(/=+$/, '')
  return isBase64 && key.length >= keyBytesMin && key.length <= keyBytesMax ? key : undefined
}

/** `secret`: valid for `readSecret`. `seconds`: time of this attempt, since 1970. */
export function signedHeaders(secret: string, id: string, seconds: number, body: string): Record<string, string> {
  const signature = createHmac('sha256', readSecret(secret) as Buffer)
    .update(`${id}.${seconds}.${body}`)
    .digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': `v1,${signature}` }
}
