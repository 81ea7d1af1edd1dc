// The icons that scripts draw, from the sprite that the page's own come from.

const { icons } = document.body.dataset;

export const addressOf = (name) => `${icons}#icon-${name}`;
