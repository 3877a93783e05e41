/** The administrative tools that the server can run. */

import { AshlarError, type FederatedDatabase, type IndexRecord } from '@ashlar/engine'
import { quoteForMessage } from '../errors/problem.ts'
import { backupTools } from './backup-tools.ts'
import { licences } from './licences.ts'
import type { Flags, Tool, ToolResult, ToolRun } from './tool.ts'

const indexName = { type: 'text', description: 'Name of the index.', isRequired: true } as const

export const tools: readonly Tool[] = [
  {
    name: 'AddIndex',
    needs: ['define', 'read'],
    changes: true,
    description: 'Creates an index over a class and its subclasses, including existing objects.',
    flags: {
      name: indexName,
      class: { type: 'text', description: 'The indexed class.', isRequired: true },
      attributes: {
        type: 'text',
        description: 'Key attributes in order, separated by commas.',
        isRequired: true,
        otherName: 'attribute',
      },
      unique: {
        type: 'boolean',
        description: 'Objects must have different values; false by default.',
        otherName: 'isUnique',
      },
    },
    async run(fd, flags, { signal }) {
      const keyAttributes = String(flags.attributes)
        .split(',')
        .map((name) => ({ attributeName: name.trim() }))
      const { name, class: indexedClass, unique = false } = flags
      await fd.createIndex({ name, indexedClass, isUnique: unique, keyAttributes }, { signal })
      return { output: describeIndex(await fd.readIndex(String(name))) }
    },
  },
  {
    name: 'ListIndexes',
    needs: ['read'],
    description: 'Lists all indexes with their key attributes, states and numbers of entries.',
    flags: {},
    run: async (fd) => ({ output: lines((await fd.listIndexes()).map(describeIndex)) }),
  },
  {
    name: 'DropIndex',
    needs: ['define'],
    changes: true,
    description: 'Deletes an index.',
    flags: { name: indexName },
    async run(fd, { name }) {
      await fd.deleteIndex(String(name))
      return { output: `Index ${name} is deleted.` }
    },
  },
  {
    name: 'UpgradeObjects',
    needs: ['operate'],
    changes: true,
    description:
      'Rewrites objects that are stored in an earlier form of their class, which is not required to read them. A stopped run is resumed.',
    flags: {
      objectsPerSecond: {
        type: 'number',
        description: 'Limit of objects per second; by default half of the time is left to others.',
      },
    },
    run: upgrade,
  },
  {
    name: 'Verify',
    needs: ['operate'],
    description:
      'Checks that every index entry has its object, every link its inverse, and the reverse, and that objects satisfy their constraints.',
    flags: {},
    run: verify,
  },
  {
    name: 'ValidateConstraints',
    needs: ['define', 'read'],
    changes: true,
    description:
      'Holds existing objects against constraints and checks that were added with validate=false; those that all objects satisfy are validated from then on.',
    flags: {},
    run: validate,
  },
  {
    name: 'Statistics',
    needs: ['operate', 'read'],
    description: 'Shows objects and bytes by class, and the sizes of indexes. Reads all data once.',
    flags: {},
    run: statistics,
  },
  ...backupTools,
  {
    name: 'License',
    needs: ['operate'],
    isServerWide: true,
    description: 'Shows the licence of Ashlar, and those of its packages.',
    flags: {},
    run: async () => ({ output: lines(await licences()) }),
  },
]

/** Throws MalformedRequest with the names of all tools. */
export function toolNamed(name: string): Tool {
  const found = tools.find((tool) => tool.name.toLowerCase() === name.toLowerCase())
  if (found !== undefined) return found
  const names = tools.map((tool) => tool.name).join(', ')
  const message = `There is no tool ${quoteForMessage(name)}; there are ${names}.`
  throw new AshlarError('MalformedRequest', message, [{ place: ['tool'], message: 'is not a tool' }])
}

async function upgrade(fd: FederatedDatabase, flags: Flags, { signal, report }: ToolRun): Promise<ToolResult> {
  const perSecond = flags.objectsPerSecond
  const { objectsDone, objectsRewritten } = await fd.upgradeObjects({
    signal,
    ...(typeof perSecond === 'number' ? { objectsPerSecondMax: perSecond } : {}),
    onProgress: (progress) => report(progress.objectsDone, progress.objectsTotal),
  })
  return { output: `${objectsDone} objects looked at, ${objectsRewritten} rewritten.` }
}

async function verify(fd: FederatedDatabase, _flags: Flags, { signal, report }: ToolRun): Promise<ToolResult> {
  const { problems, objects, linkEntries, indexEntries } = await fd.verify({ signal, onProgress: report })
  const seen = `${objects} objects, ${linkEntries} link entries, ${indexEntries} index entries`
  if (problems.length === 0) return { output: `${seen}: no problem.` }
  return { output: `${seen}: ${problems.length} problems.`, error: lines(problems) }
}

async function validate(fd: FederatedDatabase, _flags: Flags, { signal, report }: ToolRun): Promise<ToolResult> {
  const { attributes, checks, objects } = await fd.validateConstraints({ signal, onProgress: report })
  return {
    output: `${objects} objects looked at, constraints of ${attributes} attributes and ${checks} checks validated.`,
  }
}

async function statistics(fd: FederatedDatabase, _flags: Flags, { signal }: ToolRun): Promise<ToolResult> {
  const { classes, indexes, receipts, other } = await fd.detailedStatistics({ signal })
  const earlier = (objects: number): string => (objects === 0 ? '' : `, ${objects} of earlier shapes`)
  const output = lines([
    ...classes.map(({ className, objects, bytes, objectsOfEarlierShapes, links }) => {
      const linkText = links.entries === 0 ? '' : `, ${links.entries} link entries of ${links.bytes} bytes`
      return `class ${className}: ${objects} objects of ${bytes} bytes${earlier(objectsOfEarlierShapes)}${linkText}`
    }),
    ...indexes.map(({ name, entries, bytes }) => `index ${name}: ${entries} entries of ${bytes} bytes`),
    ...(receipts.entries === 0 ? [] : [`replies kept: ${receipts.entries} entries of ${receipts.bytes} bytes`]),
    `other: ${other.entries} entries of ${other.bytes} bytes`,
  ])
  return { output }
}

function describeIndex({ name, indexedClass, isUnique, keyAttributes, state, entryCount }: IndexRecord): string {
  const keys = keyAttributes.map(({ attributeName }) => attributeName).join(', ')
  const entries = entryCount === undefined ? '' : `, ${entryCount} entries`
  return `${isUnique ? 'unique ' : ''}index ${name} on ${indexedClass} (${keys}): ${state}${entries}`
}

function lines(texts: readonly string[]): string {
  return texts.join('\n')
}
