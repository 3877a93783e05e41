/** PUT and DELETE /v1/schema/{class} while others go on working (REST interface, section 5). */
import { AshlarError, assert, isOutOfReach, withoutEffect } from '../errors.ts'
import { buildIndexEntries } from '../indexes/build.ts'
import { readDuplicate } from '../indexes/duplicate-note.ts'
import type { Receipt } from '../receipts/receipt.ts'
import { type AlterOptions, alterClass, classOfPath, type Retype } from '../schema/alter-class.ts'
import { type AlterRequest, readAlterRequest } from '../schema/alter-request.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { CatalogState, IndexNumber } from '../schema/class-definition.ts'
import { retypesToPrepare, withoutPending, withPending, withReplacements } from '../schema/pending-retype.ts'
import { awaitCommitsUnderWay, withSnapshot } from '../store/with-snapshot.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import type { CatalogWriter } from './catalog-writer.ts'
import { type AttributeLoss, countLosses } from './count-losses.ts'
import type { Heartbeat } from './heartbeat.ts'

export interface AlterSettings {
  /** `?cascade=true`: indexes and partners of links go with a deleted attribute. */
  readonly isCascading: boolean
  /** `?allowLoss=true`: what does not fit a changed type becomes the default. */
  readonly isLossAllowed: boolean
}

export const defaultAlterSettings: AlterSettings = { isCascading: false, isLossAllowed: false }

/** A change of types that others are told of, and that is being prepared. */
interface Begun {
  readonly cls: ClassNumber
  readonly retypes: readonly Retype[]
  readonly replacements: readonly IndexNumber[]
}

/**
 * At once where no stored value has to be looked at. Else every writer is told first, so that nothing is written that
 * would not fit; then the values that there are, are checked, and indexes built anew beside the old ones; then it is so.
 * Undefined where the change has to be made within one transaction: nothing is done then. Throws what `alterClass` does,
 * ValuesWouldBeLost, UniqueViolation.
 */
export async function alterOnline(
  writer: CatalogWriter,
  heartbeat: Heartbeat,
  nameOrNumber: string,
  body: unknown,
  settings: AlterSettings,
  receipt?: Receipt<ClassNumber>,
): Promise<ClassNumber | undefined> {
  const request = readAlterRequest(body)
  const options: AlterOptions = {
    attributesMax: writer.limits.classAttributesMax,
    isCascading: settings.isCascading,
  }
  const begin = (isShown: boolean): Promise<Beginning> => {
    return beginning(writer, nameOrNumber, request, options, settings.isLossAllowed, isShown, receipt)
  }
  const begun = await begin(false)
  if (begun === 'online') {
    return heartbeat.runWith(async () =>
      prepareAndFinish(writer, request, options, settings, await begin(true), receipt),
    )
  }
  writer.purgeInBackground()
  return begun?.cls
}

async function prepareAndFinish(
  writer: CatalogWriter,
  request: AlterRequest,
  options: AlterOptions,
  { isLossAllowed }: AlterSettings,
  begun: Beginning,
  receipt: Receipt<ClassNumber> | undefined,
): Promise<ClassNumber | undefined> {
  assert(begun !== 'online', 'a change that others see shows a sign of life')
  try {
    if (begun === undefined || begun.retypes.length === 0) return begun?.cls
    if (!isLossAllowed) await refuseLosses(writer, begun.retypes)
    await buildReplacements(writer, begun)
    await finish(writer, request, options, begun, receipt)
    return begun.cls
  } catch (error) {
    throw begun === undefined ? error : await givenUp(writer, begun, error)
  } finally {
    writer.purgeInBackground()
  }
}

/** `online`: it takes preparation, of which others would have to be told. Undefined: it takes a transaction. */
type Beginning = Begun | 'online' | undefined

/** `isShown`: this process shows a sign of life, so that it may tell others what it prepares. Without retypes: it is done. */
function beginning(
  writer: CatalogWriter,
  nameOrNumber: string,
  request: AlterRequest,
  options: AlterOptions,
  isLossAllowed: boolean,
  isShown: boolean,
  receipt: Receipt<ClassNumber> | undefined,
): Promise<Beginning> {
  const begin = (catalog: Catalog): { state: CatalogState; result: Beginning } => {
    const cls = classOfPath(catalog, nameOrNumber)
    const alteration = alterClass(catalog, cls, request, options)
    const preparing = retypesToPrepare(catalog, alteration)
    if (preparing.length === 0) {
      return { state: alteration.state, result: { cls: cls.number, retypes: [], replacements: [] } }
    }
    if (preparing.some(({ work }) => work.kind !== 'convert')) {
      return { state: catalog.state, result: undefined }
    }
    if (!isShown) return { state: catalog.state, result: 'online' }
    const prepared = { ...alteration, retypes: preparing }
    const pending = withPending(catalog, prepared, isLossAllowed, writer.session.number)
    return {
      state: pending.state,
      result: { cls: cls.number, retypes: preparing, replacements: pending.replacements },
    }
  }
  return writer.change(begin, (transaction, begun) => {
    const isDone = begun !== undefined && begun !== 'online' && begun.retypes.length === 0
    return isDone ? receipt?.checkAndPut(transaction, begun.cls) : undefined
  })
}

/** It looks at all objects of a class. */
const longReading = { isLong: true }

/** What was written before the writers were told, and so has to be seen to the last commit. */
async function refuseLosses({ store, catalogs }: CatalogWriter, retypes: readonly Retype[]): Promise<void> {
  await awaitCommitsUnderWay(store)
  const attributes = retypes.map(({ attribute }) => attribute)
  const losses = await withSnapshot(
    store,
    async (snapshot) => {
      return countLosses(snapshot, await catalogs.at(snapshot), attributes)
    },
    longReading,
  )
  if (losses.length > 0) throw valuesWouldBeLost(losses)
}

export function valuesWouldBeLost(losses: readonly AttributeLoss[]): AshlarError {
  const shown = losses.map(({ className, attributeName, values }) => {
    return `${values} ${values === 1 ? 'value' : 'values'} of ${attributeName} of class ${className}`
  })
  return new AshlarError(
    'ValuesWouldBeLost',
    `The change would lose ${shown.join(', ')}; with allowLoss=true what does not fit becomes the default.`,
    [],
    { valuesLost: losses },
  )
}

/** A replacement is missing only where this process was taken for gone, and its change for given up. */
async function buildReplacements(writer: CatalogWriter, { retypes, replacements }: Begun): Promise<void> {
  try {
    for (const index of replacements) await buildIndexEntries(buildContext(writer), index, undefined)
  } catch (error) {
    if (!(error instanceof AshlarError && error.type === 'IndexNotFound')) throw error
    throw changedMeanwhile(retypes[0]?.name)
  }
}

function changedMeanwhile(attributeName: string | undefined): AshlarError {
  return new AshlarError('AttributeInUse', `Attribute ${attributeName} was changed by another request meanwhile.`)
}

/** Others may have changed the class meanwhile, in what this change does not touch. */
async function finish(
  writer: CatalogWriter,
  request: AlterRequest,
  options: AlterOptions,
  { cls, retypes, replacements }: Begun,
  receipt: Receipt<ClassNumber> | undefined,
): Promise<void> {
  const end = (catalog: Catalog): { state: CatalogState; result: undefined } => {
    for (const { attribute, name } of retypes) {
      if (catalog.attribute(attribute)?.becoming !== undefined) continue
      throw changedMeanwhile(name)
    }
    const { state } = alterClass(catalog, classOfPath(catalog, String(cls)), request, { ...options, isPrepared: true })
    return { state: withReplacements(state, replacements), result: undefined }
  }
  await writer.change(end, async (transaction) => {
    await refuseDuplicates(transaction, writer, replacements)
    await receipt?.checkAndPut(transaction, cls)
  })
}

/** What was written meanwhile, and is unique only under the type that the attribute had. Throws UniqueViolation. */
async function refuseDuplicates(
  transaction: Transaction,
  { catalogs }: CatalogWriter,
  replacements: readonly IndexNumber[],
): Promise<void> {
  for (const index of replacements) {
    const found = await readDuplicate(transaction, index)
    if (found === undefined) continue
    const { name } = (await catalogs.at(transaction.snapshot)).indexByNumber(index) ?? { name: '' }
    const message = `With the new type, objects ${found.join(' and ')} would have equal values in the unique index '${name}'.`
    throw new AshlarError('UniqueViolation', message)
  }
}

/** Removes what was prepared; returns the error to be thrown instead of `error`, which says what is known of the change then. */
async function givenUp(writer: CatalogWriter, begun: Begun, error: unknown): Promise<unknown> {
  try {
    // A commit that may still be under way fails at the version of the catalog, which this changes.
    return (await giveUp(writer, begun)) ? withoutEffect(error) : error
  } catch (giveUpError) {
    if (!isOutOfReach(giveUpError)) throw giveUpError
    const message = 'It is not known whether the type change was made'
    return new AshlarError('OutcomeUnknown', `${message}: ${(giveUpError as Error).message}`)
  }
}

/** True where the change was still being prepared, and so surely was not made. */
async function giveUp(writer: CatalogWriter, { retypes, replacements }: Begun): Promise<boolean> {
  const attributes = retypes.map(({ attribute }) => attribute)
  return writer.change((catalog) => {
    const isPending = attributes.every((attribute) => catalog.attribute(attribute)?.becoming !== undefined)
    return { state: withoutPending(catalog.state, attributes, replacements), result: isPending }
  })
}

export function buildContext({ store, limits, catalogs }: CatalogWriter): Parameters<typeof buildIndexEntries>[0] {
  return {
    store,
    batchObjects: limits.indexBuildBatchObjects,
    attemptsMax: limits.transactionAttemptsMax,
    catalogAt: (snapshot) => catalogs.at(snapshot),
  }
}
