/** What an entry of the palette carries while it is dragged: the type of the node to be. */
export const DRAGGED_TYPE = 'application/x-lockhouse-node-type'
