/** The index entries of an object are found by its record alone when it is deleted or changed, whatever its texts are. */
import { expect, it } from 'vitest'
import { classOf, index, read, withFd } from './open-fd.ts'

const classes = [
  classOf('Note', {
    title: 'string',
    tag: 'string',
    grade: 'integer',
    latin: { logicalType: 'string', encoding: 'byte' },
  }),
]

const cut = (name: string, isUnique: boolean, maxStoredStringLength: number): object => ({
  name,
  indexedClass: 'Note',
  isUnique,
  keyAttributes: [{ attributeName: 'title', properties: { maxStoredStringLength } }, { attributeName: 'grade' }],
})

const indexes = [
  index('byTitle', 'Note', true, 'title'),
  index('byTagAndTitle', 'Note', true, 'tag', 'title', 'latin'),
  index('byLatin', 'Note', false, 'latin', 'grade'),
  cut('byBeginning', false, 3),
  cut('byUniqueBeginning', true, 8),
]

const titles = [
  '',
  'a',
  'plain text',
  'two words "quoted"',
  'with a NUL \u0000 in it',
  '\u0000',
  'größer',
  '漢字',
  '😀',
  '\u007f',
  // As a reference to nothing is written, which does not count for uniqueness.
  '0-0-0-0',
  '10-0-0-0',
  '-0',
  '0',
  'x'.repeat(64),
  'x'.repeat(65),
  'x'.repeat(400),
  'ö'.repeat(64),
  null,
]

it.each(titles.map((title) => [title?.slice(0, 20), title] as const))('title %j…', (_, title) =>
  withFd(classes, async (fd) => {
    for (const one of indexes) await fd.createIndex(one)
    const latin = title === null ? null : 'ÿ'
    const given = { title, tag: title, grade: 7, latin }
    const first = await fd.createObject('Note', given)
    const other = await fd.createObject('Note', { ...given, title: 'another', tag: null })
    await fd.updateObject(other, { title: 'changed', tag: title })
    await fd.updateObject(first, { grade: null })
    await fd.updateObject(first, { grade: 8, latin: 'b' })
    await fd.deleteObject(first)
    // Each of its keys is free again.
    const again = await fd.createObject('Note', given)
    expect(await read(fd, again)).toMatchObject(given)
    await fd.deleteObject(other)
    await fd.deleteObject(again)
    const { problems, indexEntries } = await fd.verify()
    expect(problems).toEqual([])
    expect(indexEntries).toBe(0)
  }),
)
