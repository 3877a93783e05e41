/** The store on LMDB keeps the promises of a store. */
import { storeConformance } from './conformance.ts'
import { temporaryLmdb } from './temporary-stores.ts'

storeConformance('lmdb', temporaryLmdb)
