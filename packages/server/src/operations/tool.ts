/** The operations on administrative tools (contract 2.2). */

import { type FdOperation, type OperationReply, type ServiceOperation, wantsAsync } from '../dispatch/operation.ts'
import { onceOf } from '../dispatch/stored-reply.ts'
import { bootFileFlag, bootFileNote, readBootFile } from '../tools/boot-file.ts'
import { readFlags, type Tool } from '../tools/tool.ts'
import type { RunRecord } from '../tools/tool-runs.ts'
import { toolNamed, tools } from '../tools/tools.ts'
import { type Static, Type } from '../wire/json-schema.ts'
import { ToolBody, ToolRecord, ToolReply } from '../wire/wire-schemas.ts'

export const toolServiceOperations: readonly ServiceOperation[] = [
  {
    scope: 'service',
    method: 'GET',
    path: '/v1/tool',
    needs: 'operate',
    summary: 'The administrative tools, and their runs',
    tag: 'Tools',
    status: 200,
    reply: Type.Array(ToolRecord),
    isTransactional: false,
    errors: [],
    async run({ service }) {
      const runs = [...service.toolRuns.all(), ...(await service.peers.gather({ about: 'runs' }))]
      return { body: tools.map((tool) => describe(tool, runs)) satisfies Static<typeof ToolRecord>[] }
    },
  },
]

/** Reports other spellings as separate flags. */
function flagsOf(tool: Tool): Static<typeof ToolRecord>['flags'] {
  return Object.entries({ ...tool.flags, bootFile: bootFileFlag }).flatMap(([name, flag]) => {
    const { type, description, isRequired = false, otherName } = flag
    const own = { name, type, description, isRequired }
    if (otherName === undefined) return [own]
    return [own, { name: otherName, type, description: `Another spelling of ${name}.`, isRequired: false }]
  })
}

function describe(tool: Tool, runs: readonly RunRecord[]): Static<typeof ToolRecord> {
  return {
    name: tool.name,
    description: tool.description,
    flags: flagsOf(tool),
    runs: runs
      .filter((run) => run.tool === tool.name)
      .sort((one, other) => one.startedAt.localeCompare(other.startedAt)),
  }
}

/** Returns false for failed runs, which may be retried with the same key. */
function isDone({ status, body }: OperationReply): boolean {
  return status === 202 || (body as { readonly returnCode?: number }).returnCode === 0
}

type ToolRequest = Static<typeof ToolBody>

export const toolOperations: readonly FdOperation[] = [
  {
    scope: 'fd',
    method: 'POST',
    path: '/v1/tool',
    needs: async ({ body }) => toolNamed((body as ToolRequest).tool).needs,
    isFdWide: true,
    summary: 'Run an administrative tool',
    description:
      'If the tool fails, returnCode is not 0. The run ends if the client disconnects. With `Prefer: respond-async` it continues in the background: GET /v1/tool shows its progress.',
    tag: 'Tools',
    status: 200,
    body: ToolBody,
    reply: ToolReply,
    otherReplies: { 202: { description: 'With Prefer: respond-async' } },
    isTransactional: false,
    statement: { kind: 'tool', text: (body) => (body as ToolRequest).tool },
    keepsReply: true,
    errors: ['MalformedRequest', 'MalformedValue', 'UnknownField'],
    chooseFd({ body, caller, query, service: { federatedDatabases } }) {
      const { tool, flags } = body as ToolRequest
      const { bootFile } = readBootFile(flags)
      if (bootFile !== undefined) return federatedDatabases.resolveByBootFile(query.fdAlias, bootFile, caller)
      // A tool of the server needs no federated database in the request.
      const isAny = query.fdAlias === undefined && toolNamed(tool).isServerWide === true
      return (isAny ? federatedDatabases.all[0] : undefined) ?? federatedDatabases.resolve(query.fdAlias, caller)
    },
    async run(_database, request) {
      const { body, fd, service, signal } = request
      const { tool: name, flags: unchecked } = body as ToolRequest
      const tool = toolNamed(name)
      const { bootFile, others } = readBootFile(unchecked)
      const flags = readFlags(tool, others)
      const isConfirmed = bootFile === undefined || service.federatedDatabases.agrees(bootFile, fd)
      const note = isConfirmed ? undefined : bootFileNote(bootFile, fd.alias)
      await request.watch?.mayContinue?.()
      const run = async (): Promise<OperationReply> => {
        if (!wantsAsync(request)) return { body: await service.toolRuns.run(tool, fd, flags, signal, note) }
        service.toolRuns.start(tool, fd, flags, note)
        return { status: 202, body: {}, headers: { location: '/v1/tool', 'preference-applied': 'respond-async' } }
      }
      const once = tool.changes === true ? onceOf(request, 200, (reply: OperationReply) => reply) : undefined
      return once === undefined ? run() : fd.runOnce(once, run, isDone)
    },
  },
]
