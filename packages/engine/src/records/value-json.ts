/** Writes values in memory as JSON text. */
import { JsonWriter } from '../bytes/json-writer.ts'
import type { Codec } from '../types/logical-type.ts'
import { encodeValue } from './same-value.ts'

export function jsonOf(codec: Codec, value: unknown): Buffer {
  const json = new JsonWriter()
  writeValueJson(codec, value, json)
  return json.to.copy()
}

export function writeValueJson(codec: Codec, value: unknown, json: JsonWriter): void {
  if (value === null) {
    json.ascii('null')
    return
  }
  const bytes = encodeValue(codec, value)
  codec.writeJson(bytes, 0, bytes.length, json)
}
