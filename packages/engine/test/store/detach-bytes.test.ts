/** Bytes that are given back at once: those that may share their buffer with others are left alone. */
import { expect, it } from 'vitest'
import { detachBytes } from '../../src/store/detach-bytes.ts'

it('empties long ones, whatever part of their buffer they are', () => {
  const [bytes, part, places] = [Buffer.alloc(100_000), Buffer.alloc(300_000), new Uint32Array(20_000)]
  detachBytes(bytes, part.subarray(0, 70_000), places)
  expect([bytes.length, part.length, places.length]).toEqual([0, 0, 0])
})

it('leaves short ones, which share a buffer with others', () => {
  const [short, other] = [Buffer.from('short'), Buffer.from('other')]
  detachBytes(short, Buffer.alloc(0), new Uint32Array(0))
  expect([short.toString(), other.toString()]).toEqual(['short', 'other'])
})

it('is content with what it has been given before', () => {
  const bytes = Buffer.alloc(100_000)
  detachBytes(bytes)
  detachBytes(bytes)
  expect(bytes.length).toBe(0)
})
