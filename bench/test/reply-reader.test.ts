/** Where replies end, however their bytes arrive. */
import { describe, expect, it } from 'vitest'
import { ReplyReader } from '../load/reply-reader.ts'

const replies: Record<string, readonly [text: string, status: number]> = {
  'with a length': ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{"a"}', 200],
  'with a length in small letters': ['HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}', 201],
  'of two digits that ends like its length': ['HTTP/1.1 409 Conflict\r\nContent-Length: 12\r\n\r\n0123456789ab', 409],
  'without a body': ['HTTP/1.1 204 No Content\r\nDate: now\r\n\r\n', 204],
  'in chunks': ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[1,\r\n2\r\n2]\r\n0\r\n\r\n', 200],
}

describe('A reply', () => {
  for (const [what, [text, status]] of Object.entries(replies)) {
    it(`${what} ends with its last byte, in pieces of any size, and the next one begins there`, () => {
      for (let size = 1; size <= text.length; size++) {
        const reader = new ReplyReader()
        for (let turn = 0; turn < 2; turn++) {
          const found: (number | undefined)[] = []
          for (let at = 0; at < text.length; at += size) found.push(reader.read(Buffer.from(text.slice(at, at + size))))
          expect(found.pop(), `pieces of ${size}`).toBe(status)
          expect(found.every((one) => one === undefined)).toBe(true)
        }
      }
    })
  }
})
