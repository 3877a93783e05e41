/** What many tests expect of replies. */
import { expect } from 'vitest'
import type { Reply } from './server-under-test.ts'

/** The one body shape of errors, with this status and type; returns the message. */
export function expectProblem(reply: Reply, status: number, type?: string): string {
  expect(reply.json, reply.text).toMatchObject({ status, title: expect.any(String), message: expect.any(String) })
  expect({ status: reply.status, type: reply.json.type }).toEqual({ status, type: type ?? reply.json.type })
  for (const detail of reply.json.errors ?? []) {
    expect(detail).toEqual({ pointer: expect.any(String), message: expect.any(String) })
  }
  return reply.json.message as string
}
