// Icons for scripts, from the same sprite as the page's.

const { icons } = document.body.dataset;

export const addressOf = (name) => `${icons}#icon-${name}`;
