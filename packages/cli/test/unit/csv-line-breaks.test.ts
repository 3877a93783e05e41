/** Where the records of a CSV file end: lines that end with LF, CRLF or CR, in one file. */
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { openTextRecords } from '../../src/import/records.ts'

async function recordsOf(text: string, pieceBytes: number): Promise<unknown[]> {
  const bytes = Buffer.from(text)
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; at += pieceBytes) pieces.push(bytes.subarray(at, at + pieceBytes))
  const source = { what: 'a file', size: bytes.length, open: () => Readable.from(pieces, { objectMode: false }) }
  const { records } = openTextRecords(source, 'csv', { columns: undefined, delimiter: undefined, nullText: '' })
  const found: unknown[] = []
  for await (const { line, fields, problem } of records) found.push([line, problem ?? Object.values(fields ?? {})])
  return found
}

test.each([1, 4, 1_000])('line breaks of a CSV file may be mixed, in pieces of %i bytes', async (pieceBytes) => {
  expect(await recordsOf('a\r\n1\n2\r\n3\r\n', pieceBytes)).toEqual([
    [2, ['1']],
    [3, ['2']],
    [4, ['3']],
  ])
  expect(await recordsOf('a,b\n1,x\r\n3,"y\r\nz"\r\n\n5,\n', pieceBytes)).toEqual([
    [2, ['1', 'x']],
    [4, ['3', 'y\r\nz']],
    [6, ['5', null]],
  ])
  expect(await recordsOf('a,b\r1,x\r3,\r', pieceBytes)).toEqual([
    [2, ['1', 'x']],
    [3, ['3', null]],
  ])
})
