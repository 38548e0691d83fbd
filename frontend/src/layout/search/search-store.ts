import { createSpotlight } from '@mantine/spotlight'

/** The state of the quick search, and what opens it; apart from the search, which is loaded when it is first asked for. */
export const [searchStore, quickSearch] = createSpotlight()

/** Id of the field of the quick search. */
export const SEARCH_FIELD = 'quick-search'
